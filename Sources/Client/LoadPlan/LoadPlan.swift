// What is asked of a load run: stages, arrivals, mix, picking.
