"""What can go wrong for reasons that the user can mend."""


class Problem(Exception):
    """A reason not to go on, in one line that says what to do."""

    def __init__(self, message: object):
        super().__init__(" ".join(str(message).split()))
