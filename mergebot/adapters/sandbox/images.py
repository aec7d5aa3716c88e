"""What is said where the rules name an image and the sandbox runs none, or the other way round."""


def no_images(image: str, sandbox: str) -> str:
    """Return why a gate with an image does not run in this sandbox, and what to do."""
    return (
        f"the rules name the image {image} (gate.image), and MERGEBOT_SANDBOX={sandbox} runs none:"
        " set it to podman or docker on every worker, or take gate.image out of .mergebot.toml."
    )


def no_image(engine: str) -> str:
    """Return why a gate without an image does not run in a container, and what to do."""
    return (
        f"MERGEBOT_SANDBOX={engine} needs an image to run gates in: name one as gate.image in"
        " .mergebot.toml."
    )
