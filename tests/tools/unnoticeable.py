"""Changes that no test of behaviour can notice, with the reason; see `tests.tools.mutants`."""

_EXTENSION = "concerns entries added to the core: noticed by test_extension.py, which compiles one"
_STREAM = "other random numbers, as good as these"

#: The end of the file's name, the line before the change, the line after it, and why it cannot
#: matter.
UNNOTICEABLE: tuple[tuple[str, str, str, str], ...] = (
    (
        "training/losses.py",
        "globals().update({cls.__name__: cls for cls in LOSSES.values()})",
        "pass",
        _EXTENSION,
    ),
    (
        "training/optimizers.py",
        "globals().update({cls.__name__: cls for cls in OPTIMIZERS.values()})",
        "pass",
        _EXTENSION,
    ),
    (
        "estimators/forest.py",
        "rng = np.random.default_rng([1, seed])",
        "rng = np.random.default_rng([2, seed])",
        _STREAM,
    ),
    (
        "training/trainer.py",
        "n_jobs = len(jobs) if isinstance(jobs, Sequence) else n_expected or 2**31 - 1",
        "n_jobs = len(jobs) if isinstance(jobs, Sequence) else n_expected or 2**31 - 2",
        "stands for very many jobs",
    ),
    (
        "training/trainer.py",
        "n_threads: int = 1,",
        "n_threads: int = 2,",
        "threads never change a result",
    ),
    ("training/trainer.py", "checked.add(kind)", "pass", "saves checks that were made before"),
    (
        "experiments/protocols.py",
        "return int(state.generate_state(1)[0])",
        "return int(state.generate_state(2)[0])",
        "the first of two numbers is the same",
    ),
    (
        "tree/growth.py",
        "min_size = max(1, int(min_size * min(growth.expected_size(), LARGEST_SIZE)))",
        "min_size = max(2, int(min_size * min(growth.expected_size(), LARGEST_SIZE)))",
        "no tree is smaller than 2",
    ),
    (
        "tree/growth.py",
        'least = 1 if min_size is None else checked_count("min_size", min_size, 1)',
        'least = 2 if min_size is None else checked_count("min_size", min_size, 1)',
        "no tree is smaller than 2",
    ),
    (
        "tree/sampling.py",
        "n_rows = max(1, 1_000_000 // X.shape[1])  # never a float64 copy of the whole table",
        "n_rows = max(2, 1_000_000 // X.shape[1])  # never a float64 copy of the whole table",
        "changes how much is read at a time",
    ),
    (
        "tree/sampling.py",
        "for start in range(0, len(X), n_rows):",
        "for start in range(1, len(X), n_rows):",
        "the first row is the origin of the differences, and adds nothing",
    ),
    (
        "estimators/canonical.py",
        "n_rows = max(1, 100_000 // max(1, n_words))  # as many as stay in the cache",
        "n_rows = max(2, 100_000 // max(1, n_words))  # as many as stay in the cache",
        "changes how much is read at a time",
    ),
    (
        "estimators/canonical.py",
        "n_rows = max(1, 100_000 // max(1, n_words))  # as many as stay in the cache",
        "n_rows = max(1, 100_000 // max(2, n_words))  # as many as stay in the cache",
        "changes how much is read at a time",
    ),
    (
        "files/atomic.py",
        'with _naming(path), open(path, "wb", buffering=0) as device:',
        'with _naming(path), open(path, "wb", buffering=1) as device:',
        "os.write goes past the buffer",
    ),
    (
        "estimators/model_loading.py",
        'if name == "str" and len(labels) * max(map(len, labels), default=0) > _MOST_CHARACTERS:',
        'if name == "str" and len(labels) * max(map(len, labels), default=1) > _MOST_CHARACTERS:',
        "times 0 labels",
    ),
    (
        "estimators/canonical.py",
        "content = X.view(np.uint8).reshape(len(X), -1)",
        "content = X.view(np.uint8).reshape(len(X), -2)",
        "any negative number stands for the rest",
    ),
    *(
        (
            file,
            "@fit_context(prefer_skip_nested_validation=True)",
            "@fit_context(prefer_skip_nested_validation=False)",
            "there are no nested estimators whose checks could be skipped",
        )
        for file in ("estimators/base.py", "estimators/parts.py")
    ),
    (
        "tree/growth.py",
        "if parents[-1].size == 0:",
        "if parents[-2].size == 0:",
        "goes through one more level, which is empty",
    ),
    (
        "tree/growth.py",
        "while len(sizes) < MAX_TRIES and sum(sizes) < LARGEST_SIZE:",
        "while len(sizes) < MAX_TRIES and sum(sizes) <= LARGEST_SIZE:",
        "the limit is one of patience",
    ),
    (
        "tree/sampling.py",
        "owners.append(node if starts else (-1 if above < 0 else owners[above]))",
        "owners.append(node if starts else (-2 if above < 0 else owners[above]))",
        "any negative number is no node",
    ),
)
