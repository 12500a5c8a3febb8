"""How much memory a matrix of the solver may take."""

MOST_BYTES = 2e9  # of one matrix or factor
ENTRY_BYTES = 24  # of a matrix by rows and by columns: a number and a place, twice
