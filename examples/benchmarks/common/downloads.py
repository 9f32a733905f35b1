"""Streams that are downloaded from OpenML and the UCI repository, and kept as files.

A file NAME.csv.gz has a header and the target in its last column. Files are kept in the folder
that `folder` names.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from river_extra_trees.cli import UserError

OPENML = {
    **{"abalone": 183, "adult": 1590, "ailerons": 296, "airlines": 1169, "ann_thyroid": 40497},
    **{"analcatdata_authorship": 458, "analcatdata_dmft": 469, "balance_scale": 11},
    **{"bank32nh": 558, "bank8FM": 572, "bank_marketing": 1461, "banknote": 1462, "breast_w": 15},
    **{"blood_transfusion": 1464, "cal_housing": 537, "car": 40975, "cmc": 23, "covtype": 1596},
    **{"cpu_act": 197, "credit_approval": 29, "credit_g": 31, "cylinder_bands": 6332},
    **{"default_credit": 42477, "delta_elevators": 198, "diabetes": 37, "elec": 151},
    **{"elevators": 216, "eucalyptus": 188, "house_8L": 218, "kin8nm": 189},
    **{"ilpd": 1480, "jm1": 1053, "kc1": 1067, "kc2": 1063, "kdd99_10pct": 1113, "kr_vs_kp": 3},
    **{"letter": 6, "magic": 1120, "mammography": 310, "mushroom": 24, "nomao": 1486},
    **{"ozone_8hr": 1487, "page_blocks": 30, "pc1": 1068, "pendigits": 32, "phishing": 4534},
    **{"pol": 201, "puma32H": 308, "puma8NH": 225, "quake": 209, "segment": 36},
    **{"shuttle": 40685, "sick": 38, "spambase": 44},
    **{"splice": 46, "texture": 40499, "tic_tac_toe": 50, "vehicle": 54, "wdbc": 1510},
    **{"wind": 503},
}
# With the column of the target, as some have several.
UCI = {
    "airfoil": (291, "scaled-sound-pressure"),
    "bike_sharing_hourly": (275, "cnt"),
    "concrete": (165, "Concrete compressive strength"),
    "grid_stability": (471, "stab"),
    "power_plant_ccpp": (294, "PE"),
}


def folder() -> Path:
    """Return the folder of the streams: RIVER_EXTRA_TREES_DATA, or one for downloads."""
    default = Path.home() / ".cache" / "river-extra-trees"
    return Path(os.environ.get("RIVER_EXTRA_TREES_DATA") or default)


def download(name: str) -> None:
    """Get a stream into the folder."""
    try:
        if name in OPENML:
            table, target = from_openml(OPENML[name])
        elif name in UCI:
            table, target = from_uci(*UCI[name])
        else:
            raise UserError(
                f"the stream {name!r} is not for download here; set RIVER_EXTRA_TREES_DATA to a "
                "folder that holds it"
            )
    except (OSError, ImportError) as error:
        raise UserError(
            f"cannot download {name!r} ({error}); set RIVER_EXTRA_TREES_DATA to a folder that "
            "holds it"
        ) from error
    path = folder() / f"{name}.csv.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    table.assign(target=target).to_csv(path, index=False)


def from_openml(number: int) -> tuple[Any, Any]:
    """Return features and target as pandas has them."""
    from sklearn.datasets import fetch_openml

    found = fetch_openml(data_id=number, as_frame=True, parser="auto")
    return found.data, found.target


def from_uci(number: int, target: str) -> tuple[Any, Any]:
    """Return features and target as pandas has them."""
    from ucimlrepo import fetch_ucirepo

    found = fetch_ucirepo(id=number).data
    return found.features, found.targets[target]
