"""Images: MNIST, Fashion-MNIST and k-trees."""
