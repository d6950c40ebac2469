"""`--preload planted_commit`: a worker whose sources are others."""

from dataclasses import replace
from unittest import mock

from regression.campaign import cluster
from regression.identity import identity

other = replace(identity(), commit="another-commit")
mock.patch.object(cluster, "identity", return_value=other).start()
