"""Make the certificates with which the fake server serves https: ``python -m tools.certificates`` (needs openssl).

They are for tests alone: their private keys are public, and shipped with the server. A CA, and three leaves of it:
right, expired, and for another host. Nobody needs to make them again before 2120.
"""

import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "fake_server" / "certificates"
NAMES = "DNS:localhost, IP:127.0.0.1, IP:::1"
NOTICE = "A public test key of inflight: everybody has it. It protects nothing; never trust it outside of tests.\n"
CA = """\
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
"""
LEAF = """\
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = {names}
"""
LONG = ("20200101000000Z", "21200101000000Z")
LEAVES = {
    "right": (NAMES, LONG),
    "expired": (NAMES, ("20200101000000Z", "20200102000000Z")),
    "wrong_host": ("DNS:elsewhere.invalid", LONG),
}
"""Name of a leaf -> its names, and the times from and until which it is valid."""
CONFIG = """\
[ca]
default_ca = inflight
[inflight]
database = {folder}/index
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
"""


def main() -> None:
    """Write the CA's certificate, and the key and certificate of each leaf, to fake_server/certificates."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "index").touch()
        (folder / "config").write_text(CONFIG.format(folder=folder), encoding="ascii")
        _make_key(folder, "ca")
        _sign(folder, "ca", CA, LONG, "-selfsign")
        for name, (names, validity) in LEAVES.items():
            _make_key(folder, name)
            _sign(folder, name, LEAF.format(names=names), validity, "-cert", "ca.crt")
            _write(name, folder / f"{name}.key", folder / f"{name}.crt")
        _write("ca", folder / "ca.crt")


def _make_key(folder: Path, name: str) -> None:
    """Make a key on the curve P-256, which most servers have, and the request for its certificate."""
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    subject = ("-subj", f"/CN=inflight test {name}")
    _openssl(folder, "req", *curve, "-keyout", f"{name}.key", "-out", f"{name}.csr", *subject)


def _sign(folder: Path, name: str, extensions: str, validity: tuple[str, str], *signer: str) -> None:
    """Sign a request with the key of the CA."""
    (folder / "extensions").write_text(extensions, encoding="ascii")
    begin, end = validity
    files = ("-in", f"{name}.csr", "-out", f"{name}.crt", "-keyfile", "ca.key", "-extfile", "extensions")
    times = ("-startdate", begin, "-enddate", end)
    _openssl(folder, "ca", "-batch", "-notext", "-config", "config", *files, *times, *signer)


def _write(name: str, *parts: Path) -> None:
    text = NOTICE + "".join(part.read_text(encoding="ascii") for part in parts)
    (FOLDER / f"{name}.pem").write_text(text, encoding="ascii")


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


if __name__ == "__main__":
    main()
