"""Runs on the board: reads four measurements, and prints the flower with its probability."""

from model import flower

#: Replace this by what your sensors measure; None is a missing value.
measured = [5.1, 3.5, 1.4, None]

label, probabilities = flower(measured)
print(label, max(probabilities))
