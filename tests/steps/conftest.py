"""How the steps are run."""

import pytest


@pytest.fixture(autouse=True)
def _without_compiled_graphs(request):
    """Half of the time would go into compiling densities that a test asks for a few numbers."""
    if not any(map(request.node.get_closest_marker, ("slow", "compiled"))):
        request.getfixturevalue("interpreted")
