"""From rows to a `Model`: functions that take and return data, in the order of `fit`."""
