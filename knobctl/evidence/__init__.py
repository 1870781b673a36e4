"""Evidence: what recorded questions say of a floor, counted and never guessed.

A recording holds one line a question: the best fused score that it got under open floors, by which
rankers, and how near its chunks were. No question stands in it.
"""
