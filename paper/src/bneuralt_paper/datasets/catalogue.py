"""Facts about each data set: its task, shape, names, licence and checksum.

Each entry has the SHA-256 of the table that the paper used (see
`content_checksum`), so that a copy from any source can be compared with
it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CATALOGUE",
    "IMAGES",
    "PAPER_CLASSIFICATION",
    "PAPER_DATASETS",
    "PAPER_REGRESSION",
    "CatalogueEntry",
]

_UCI = "UCI Machine Learning Repository, CC BY 4.0: credit the donors"
_KEEL = "KEEL repository, free for research with a citation of KEEL"


@dataclass(frozen=True)
class CatalogueEntry:
    """One data set of the catalogue.

    Attributes
    ----------
    name : str
        The name that `bneuralt_paper.datasets.load_dataset` takes.
    title : str
        Its name in words.
    task : {"classification", "regression"}
        What is predicted.
    n_rows : int
        Number of rows.
    feature_names : tuple of str
        Names of the inputs.
    class_names : tuple of str
        Names of the classes; empty for regression.
    licence : str
        Whom to credit, and the terms of use.
    checksum : str
        SHA-256 of the numbers that the paper used.
    target_name : str
        Name of the target.
    note : str
        What is special about this table.
    n_train : int or None
        First row of the data set's own test rows (image sets), else None.
    """

    name: str
    title: str
    task: str
    n_rows: int
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    licence: str
    checksum: str
    target_name: str = "target"
    note: str = ""
    n_train: int | None = None

    @property
    def n_features(self) -> int:
        """Number of input columns."""
        return len(self.feature_names)


def _numbered(prefix: str, numbers: range) -> tuple[str, ...]:
    return tuple(f"{prefix}{i}" for i in numbers)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_WDBC_MEASURES = (
    "radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity",
    "concave points", "symmetry", "fractal dimension",
)  # fmt: skip
_WDBC = (
    *(f"mean {m}" for m in _WDBC_MEASURES),
    *(f"{m} error" for m in _WDBC_MEASURES),
    *(f"worst {m}" for m in _WDBC_MEASURES),
)
_DIGITS = _words("0 1 2 3 4 5 6 7 8 9")
_CLOTHES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
    "Ankle boot",
)  # fmt: skip
_PIXELS = _numbered("pixel", range(784))

_ENTRIES = (
    CatalogueEntry(
        "australian", "Australian credit approval", "classification", 690,
        _numbered("A", range(1, 15)), _words("0 1"), _UCI,
        "86fcfd0170574fdbf28b7bfb12af83bc8ac95b9ac60dbe278f517f5c3a8da447",
        note="some columns lack their decimal points in the KEEL copy that the paper used",
    ),
    CatalogueEntry(
        "heart", "Statlog heart disease", "classification", 270,
        _words(
            "Age Sex ChestPainType RestBloodPressure SerumCholestoral FastingBloodSugar "
            "ResElectrocardiographic MaxHeartRate ExerciseInduced Oldpeak Slope MajorVessels Thal"
        ),
        _words("1 2"), _UCI,
        "38a31eaa6c44d5fd10f0bcc1adaf4e3d6c8a16e6fe423241676e6cdbe9244ca8",
        note="Oldpeak lacks its decimal point in the KEEL copy that the paper used",
    ),
    CatalogueEntry(
        "ionosphere", "Radar returns from the ionosphere", "classification", 351,
        ("Pulse1", *_numbered("Pulse", range(3, 35))), _words("b g"), _UCI,
        "e264734a54035fec321e7198f5aaff5c30707ee6d9e9b0b87a80438e314e184c",
        note="the constant Pulse2 is left out, as in KEEL",
    ),
    CatalogueEntry(
        "pima", "Pima Indians diabetes", "classification", 768,
        _words("Preg Plas Pres Skin Insu Mass Pedi Age"),
        _words("tested_negative tested_positive"),
        "NIDDK, donated to UCI, which no longer offers it; taken from KEEL",
        "b3e6226e2353e7550e973e435415d14eea4f229d83bc17376e4fdfee193ae518",
    ),
    CatalogueEntry(
        "wdbc", "Breast cancer Wisconsin (diagnostic)", "classification", 569,
        _WDBC, _words("B M"), _UCI,
        "27d8733d26f6f533482cd409119e7a5ce4e33cd44c8568e1576cc28058fdb6c9",
    ),
    CatalogueEntry(
        "iris", "Iris plants", "classification", 150,
        ("sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"),
        _words("setosa versicolor virginica"), _UCI,
        "67d43f6b3a3e8423ebd973db9229ce3e3a8ca42a8a71bfdce073903c4d389c77",
        note="rows 34 and 37 as in the UCI file, where it differs from Fisher's article",
    ),
    CatalogueEntry(
        "wine", "Wine cultivars", "classification", 178,
        _words(
            "alcohol malic_acid ash alcalinity_of_ash magnesium total_phenols flavanoids "
            "nonflavanoid_phenols proanthocyanins color_intensity hue "
            "od280/od315_of_diluted_wines proline"
        ),
        _words("1 2 3"), _UCI,
        "4d7daee673957b5e380558f9c2701ca6d68af57a7f3d09a802c6e9ae33681af5",
    ),
    CatalogueEntry(
        "vehicle", "Statlog vehicle silhouettes", "classification", 846,
        _words(
            "Compactness Circularity Distance_circularity Radius_ratio Praxis_aspect_ratio "
            "Max_length_aspect_ratio Scatter_ratio Elongatedness Praxis_rectangular "
            "Length_rectangular Major_variance Minor_variance Gyration_radius Major_skewness "
            "Minor_skewness Minor_kurtosis Major_kurtosis Hollows_ratio"
        ),
        _words("bus opel saab van"), _UCI,
        "5210f5a68ceaaf982a0f1edc2b82edae9aa3e63498b16dd44438676f88236c7a",
    ),
    CatalogueEntry(
        "glass", "Glass identification", "classification", 214,
        _words("RI Na Mg Al Si K Ca Ba Fe"), _words("1 2 3 4 5 6"), _UCI,
        "64da0efddb734b969840770fffdd7cbabec0b2bae7598e3ece3c4a8efca2321a",
        note="UCI's classes 5, 6, 7 are called 4, 5, 6 (its class 4 has no rows)",
    ),
    CatalogueEntry(
        "baseball", "Salaries of baseball players", "regression", 337,
        _words(
            "Batting_average On-base_percentage Runs Hits Doubles Triples HomeRuns "
            "Runs_batted_in Walks Strike-Outs Stolen_bases Errors Free_agency_eligibility "
            "Free_agent Arbitration_eligibility Arbitration"
        ),
        (), _KEEL,
        "517f5271045d0c756a797ff5ff1b065d86649a11a6756c7304a7757dd22e7eec",
        target_name="Salary",
    ),
    CatalogueEntry(
        "dee", "Daily price of electric energy in Spain", "regression", 365,
        _words("Hydroelectric Nuclear Coal Fuel Gas Special"), (), _KEEL,
        "546f9868012bf81b9ce65f89d5bf268043be27944427e958ecdd2ff42a2336e7",
        target_name="Consume",
    ),
    CatalogueEntry(
        "diabetese", "Progression of diabetes (Efron et al. 2004)", "regression", 442,
        _words("age sex bmi bp s1 s2 s3 s4 s5 s6"), (),
        "published with least angle regression (2004); the copy in scikit-learn is BSD-3-Clause",
        "c99ef9709377d27b0e155f51dd0a94c4c1dab28eab5cb95f42dcce2b12d57ee4",
        target_name="progression",
        note="scikit-learn's copy differs from the paper's table by at most 1.3e-5 in an input",
    ),
    CatalogueEntry(
        "friedman", "Friedman's first function with noise", "regression", 1200,
        _numbered("Input", range(1, 6)), (),
        "generated numbers without known rights; the authors' file is from KEEL",
        "e8b8f9d4fa3d05f0cd5cde8827a704e896e9bd08d6bad1d04ac33b58280571de",
        note="without the authors' file, rows are generated by the same formula",
    ),
    CatalogueEntry(
        "mpg6", "Miles per gallon (autoMPG6)", "regression", 392,
        _words("Displacement Horse_power Weight Acceleration Model_year"), (), _UCI,
        "80cf7342deb2b26886d5a79c5d71983f431e723de2cff36c2f8163bd31fb06a2",
        target_name="Mpg",
        note="5 inputs, although the paper states 6",
    ),
    CatalogueEntry(
        "mnist", "MNIST handwritten digits", "classification", 70000, _PIXELS, _DIGITS,
        "Y. LeCun and C. Cortes, CC BY-SA 3.0",
        "e62f397392526f9b97c41668a19eb2d87521781ab36a654262b75489f63e7e81",
        n_train=60000,
    ),
    CatalogueEntry(
        "fashion_mnist", "Fashion-MNIST articles of clothing", "classification", 70000, _PIXELS,
        _CLOTHES, "Zalando SE, MIT licence",
        "3c93861faf74090a7e67f6f3330b6dd8bb3acd7b035207a783acf46fe4e1d065",
        n_train=60000,
    ),
)  # fmt: skip

#: All entries by name, in the order of the paper.
CATALOGUE: dict[str, CatalogueEntry] = {entry.name: entry for entry in _ENTRIES}

#: The columns of the paper's Table 2, in its order.
PAPER_CLASSIFICATION = tuple(e.name for e in _ENTRIES[:9])
PAPER_REGRESSION = tuple(e.name for e in _ENTRIES[9:14])
PAPER_DATASETS = PAPER_CLASSIFICATION + PAPER_REGRESSION
IMAGES = ("mnist", "fashion_mnist")
