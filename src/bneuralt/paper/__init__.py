"""The paper's experiments, end to end: protocols, algorithms, store, statistics and report.

Modules
-------
experiments : the paper's names for its experiments, as settings
protocols   : which rows an algorithm learns from, may look at, and is judged by
baselines, mlp, bneuralt_runs : the algorithms
store, claims, runner : runs that survive any interruption
report and its parts : tables, statistics and figures out of a store
"""
