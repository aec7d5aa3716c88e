"""SSH keys as people make them, and git's own word on what they signed."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.forge import ForgeProcess, Work


@dataclass(frozen=True)
class SshKey:
    """A key pair that `ssh-keygen` wrote."""

    path: Path

    @classmethod
    def made(cls, path: Path, kind: str = "ed25519", passphrase: str = "") -> "SshKey":
        """Make a new pair."""
        command = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "", "-f", str(path)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        return cls(path)

    @property
    def line(self) -> str:
        """The public half."""
        return " ".join(self.path.with_suffix(".pub").read_text().split()[:2])

    def known_to(self, forge: ForgeProcess, login: str) -> None:
        """Register it as a signing key of an account."""
        body = {"title": "signing", "key": self.line}
        made = forge.call("POST", "/user/ssh_signing_keys", body, token=forge.user(login))
        assert made.status_code == 201, made.text

    def signs(self, work: Work, email: str) -> None:
        """Let a clone sign what it commits, as somebody."""
        for name, value in {
            "gpg.format": "ssh",
            "user.signingKey": str(self.path),
            "commit.gpgSign": "true",
        }.items():
            work.git("config", name, value)
        work.email = email

    def verifies(self, git_dir: Path, sha: str, email: str) -> bool:
        """Tell whether git finds that this key signed a commit."""
        allowed = self.path.with_suffix(".allowed")
        allowed.write_text(f'{email} namespaces="git" {self.line}\n')
        options = ("-c", f"gpg.ssh.allowedSignersFile={allowed}")
        command = ["git", f"--git-dir={git_dir}", *options, "verify-commit", sha]
        return not subprocess.run(command, check=False, capture_output=True).returncode
