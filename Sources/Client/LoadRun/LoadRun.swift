// The engine of a load run.
