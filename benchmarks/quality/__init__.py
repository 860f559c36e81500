"""Compare the quality of the default settings with other models and their defaults.

    python -m benchmarks.quality run --suite tables --store quality.sqlite
    python -m benchmarks.quality report --suite tables --store quality.sqlite --out quality

There are three suites: "paper" has the 14 data sets of the paper with 30 splits each; "tables" has
tables of other sources (`benchmarks.tables`) with all their rows and 2 or 3 splits; "curve" has
single trees of 10 to 5,000 weights on the tables that settings are chosen on.

`run` measures what the store lacks, so that it can be interrupted and continued at any time. Split
number i has the same training and test rows for all models. All models have the defaults of their
libraries and one thread each; those of other libraries get standardised features and, for
regression, a standardised target, because neural trees include this step. Times are processor time.
"""
