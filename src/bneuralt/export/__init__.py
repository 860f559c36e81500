"""Exports of models: C, ONNX, SQL, Python, JavaScript and PyTorch.

`targets` lists them. `translation` turns expressions into code by a table of templates for each
language.
"""
