// What a load run measured, and every form in which it is told.
