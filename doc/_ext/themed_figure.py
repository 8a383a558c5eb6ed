"""The nodes of a figure that is drawn once for each theme."""

from docutils import nodes

FOLDER = "generated_figures"


def themed_images(files, alt):
    """Return an image for each theme; the theme shows one of them.

    Parameters
    ----------
    files : dict of str to str
        Names of files in `FOLDER`, by theme.
    alt : str
        What the picture shows, for those who do not see it.
    """
    frame = nodes.container(classes=["figure-frame"])
    frame += [
        nodes.image(
            uri=f"/{FOLDER}/{name}", alt=alt, classes=[f"only-{theme}", "themed-figure"]
        )
        for theme, name in files.items()
    ]
    return [frame]
