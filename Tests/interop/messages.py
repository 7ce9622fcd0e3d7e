"""The messages of Proto/remotepin/v1/wallet.proto as Python classes, compiled when the module is imported.

    import messages
    request = messages.Request(id=1, begin_enrollment=messages.BeginEnrollmentRequest())

Requires protobuf from PyPI and one of the compilers `protoc` and `protoc-c`. No generated file is kept.
"""

import pathlib
import shutil
import subprocess
import tempfile

from google.protobuf import descriptor_pb2, message_factory

PROTO_FOLDER = pathlib.Path(__file__).resolve().parents[2] / "Proto"
PACKAGE = "remotepin.v1."


def _compile():
    compiler = shutil.which("protoc") or shutil.which("protoc-c")
    if compiler is None:
        raise SystemExit("protoc is missing: apt-get install protobuf-compiler")
    with tempfile.NamedTemporaryFile() as output:
        subprocess.run(
            [compiler, f"--descriptor_set_out={output.name}", "--include_imports", "remotepin/v1/wallet.proto"],
            cwd=PROTO_FOLDER,
            check=True,
        )
        return descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(output.name).read_bytes())


_classes = {
    name.removeprefix(PACKAGE): message
    for name, message in message_factory.GetMessages(_compile().file).items()
    if name.startswith(PACKAGE)
}
globals().update(_classes)


def error_code(number):
    """Returns the name of an error code without its prefix, such as 'AUTHENTICATION_FAILED'."""
    values = _classes["Error"].DESCRIPTOR.fields_by_name["code"].enum_type.values_by_number
    return values[number].name.removeprefix("ERROR_CODE_") if number in values else str(number)
