"""Every example runs in its quick mode and draws its picture."""

import importlib
import warnings
from pathlib import Path

import pytest

pytestmark = pytest.mark.documentation

EXAMPLES = Path(__file__).parents[2] / "examples"
STORIES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("story", STORIES)
def test_the_example_answers_its_question_and_draws_a_picture(story, tmp_path, capsys):
    picture = tmp_path / "picture.png"
    with warnings.catch_warnings():
        # So few draws do not converge, and are told so.
        warnings.simplefilter("ignore")
        importlib.import_module(f"examples.{story}").main(["--quick", "--picture", str(picture)])
    assert picture.stat().st_size > 5000
    assert len(capsys.readouterr().out.splitlines()) >= 3


def test_every_example_is_in_the_gallery_with_its_picture():
    gallery = (EXAMPLES.parent / "docs" / "gallery.md").read_text(encoding="utf-8")
    for story in STORIES:
        assert f"{story}.py" in gallery
        if story != "quickstart":
            assert f"pictures/{story}.png" in gallery
            size = (EXAMPLES.parent / "docs" / "pictures" / f"{story}.png").stat().st_size
            assert size <= 120_000
