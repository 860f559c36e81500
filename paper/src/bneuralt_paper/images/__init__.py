"""Experiments on images: MNIST, Fashion-MNIST and dendritic k-trees."""
