"""The paper's experiments: definitions, execution, and a comparison with the published results.

The packages, from the lowest layer to the highest; imports point downwards only:

experiments
    What the paper ran: experiment names, protocols, and the algorithms.
running
    Execution of many experiments: tasks, worker processes, and the store of finished runs.
images
    MNIST, Fashion-MNIST and dendritic k-trees.
reporting
    Tables, statistics and figures of finished runs, on one page.
"""
