"""The plugin as a tester uses it, with real programs."""
import pytest
from pytest_remote_pin import Refused


def test_wrong_pin_is_counted(phone, server):
    phone.set_up("024791")
    phone.launch()
    assert phone.enter("111222") == "wrong-pin"
    assert phone.step == "PF2.8/2.1" and phone.screen["values"]["attemptsLeft"] == 3
    assert phone.steps[-3:] == ["UC2.3/1.3a", "PF2.8/1.1d", "PF2.8/2.1"]
    assert server.wallets()[0]["failures"] == 1


@pytest.mark.remote_pin(server={"pin.rounds": 2, "pin.attempts-per-round": 1, "pin.blocks": ["1m"]})
def test_a_block_ends_with_the_clock(phone, clock):
    phone.set_up("024791")
    phone.launch()
    assert phone.enter("111222") == "blocked"
    clock.advance("61s")
    phone.wait_for("UC2.3/1.3")
    assert phone.enter("024791") == "done"


@pytest.mark.remote_pin(device={"platform": "ios", "biometrics": "face"})
def test_two_phones_have_two_wallets(phone, phones, server):
    second = phones("second")
    phone.set_up("024791")
    second.set_up("135790")
    assert [wallet["platform"] for wallet in server.wallets()] == ["ios", "android"]
    with pytest.raises(Refused, match="offers only obtain, help"):
        second.tap("log-out")


@pytest.mark.remote_pin(device={"rooted": False, "biometrics": "face", "os_version": "18"})
def test_a_phone_has_its_properties_whatever_their_type(phone, phones):
    second = phones("second", passcode=False, conditions=["delay:100", "delay:100"], fault=None)
    second.set_up("135790")
    phone.set_up("024791")
    phone.change(conditions=["lose-next-reply", "delay:100"], rooted=False, sensor={"reject": 2}, passcode=True)
    for command, fields, message in [
        ("device", {"set": {"network": None}}, "`set.network` must be a string"),
        ("device", {"set": {"rooted": 3}}, "must be true or false"),
        ("tap", {"action": ["next"]}, "`action` must be a string"),
        ("link", {"url": 5}, "`url` must be a string"),
    ]:
        with pytest.raises(Refused, match=message):
            phone.do(command, **fields)


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "", ".x", "a b", "a" * 65, "lab"])
def test_the_name_of_a_phone_is_not_a_path(phones, name):
    with pytest.raises(ValueError):
        phones(name)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_server_that_is_away_costs_no_attempt(phone, server, end):
    phone.set_up("024791")
    getattr(server, end)()
    phone.launch()
    assert phone.enter("111222") == "server-unreachable"
    server.start()
    phone.tap("close")
    assert phone.enter("024791") == "done"
    assert server.wallets()[0]["failures"] == 0


def test_a_failed_test_shows_phones_and_log(pytester, pytestconfig):
    pytester.makepyfile("""
        def test_fails(phone):
            phone.set_up("024791")
            assert phone.step == "UC7.1/1.1"
    """)
    folder = pytestconfig.getoption("--remote-pin-programs")
    result = pytester.runpytest_subprocess(*(["--remote-pin-programs", folder] if folder else []))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*phone first*", "step: UC3.1/1.1", "*server log*", "*wallet registered*"])
    assert "024791" not in "".join(line for line in result.outlines if not line.startswith(("    ", ">")))


def test_a_missing_program_is_named(pytester):
    pytester.makepyfile("def test_phone(phone): pass")
    result = pytester.runpytest_subprocess("--remote-pin-programs", str(pytester.path))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*the program wallet is not in {pytester.path}*"])
