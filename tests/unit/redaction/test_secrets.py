"""Secrets go, whatever stands around them; everything else stays as it was."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from unhang.redaction import Redactor
from unhang.redaction.names import is_secret_name
from unhang.redaction.shapes import _windows
from unhang.redaction.values import is_harmless

BODY = string.ascii_letters + string.digits
SECRETS = {
    "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7": "Hugging Face token",
    "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ3sT": "API key",
    "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3f": "GitHub token",
    "github_pat_" + "11AAAAAAA0aB3dE5gH7jK9_mN1pQ3sT5": "GitHub token",
    "glpat-" + "aB3dE5gH7jK9mN1pQ3sT": "GitLab token",
    "xoxb-" + "123456789012-aB3dE5gH7jK9": "Slack token",
    "AKIA" + "QZXW3EDC4RFV5TGB": "AWS key",
    "AIza" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG": "Google key",
    "LTAI" + "5tAbCdEfGhIjKlMnOpQr": "cloud key",
    "AKLT" + "NzQ4YjY0ZmE2YjQ4NGQwNzk": "cloud key",
    "nvapi-" + "aB3dE5gH7jK9mN1pQ3sT5vW7": "NVIDIA key",
    "pypi-" + "AgEIcHlwaS5vcmcCJDNlYjU": "package index token",
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "dozjgNryP4J3jVmN": "JSON web token",
}
CONTEXTS = (
    "{}",
    "export KEY_OF_MINE={}",
    "[rank3]: login with {} failed",
    "{{'token': '{}'}}",
    "git clone https://x:{}@example.org/a.git",
    "--hf-token {} --epochs 3",
    "curl -H 'Authorization: Bearer {}' https://api.example.org",
    "a\nb {} c\nd",
)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("context", CONTEXTS)
def test_a_secret_is_known_by_its_shape(secret: str, context: str) -> None:
    redactor = Redactor()
    text = redactor.text(context.format(secret))
    assert secret not in text
    assert secret[8:] not in text
    assert sum(redactor.counts.values()) >= 1


@pytest.mark.parametrize("secret", SECRETS)
def test_the_kind_is_counted(secret: str) -> None:
    redactor = Redactor()
    redactor.text(f"x {secret} y")
    assert redactor.counts == {SECRETS[secret]: 1}


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "0123456789abcdef"),
        ("wandb: Appending key 0123456789abcdef0123456789abcdef01234567 to netrc", "89abcdef"),
        ('"client_secret": "s3cr3t-value",', "s3cr3t-value"),
        ("password: hunter2hunter2", "hunter2hunter2"),
        ("pass=hunter2", "hunter2"),
        ("user/pass: mei/hunter2", "hunter2"),
        ("db_pass: swordfish", "swordfish"),
        ('PASS = "hunter2"', "hunter2"),
        ("train.py --api-key abcd1234efgh --lr 1e-4", "abcd1234efgh"),
        ("train.py --wandb.api_key=abcd1234efgh", "abcd1234efgh"),
        ("s3://bucket/x?X-Amz-Signature=fe5f80f77d5fa3beca038a248ff027d0445342fe&a=1", "fe5f80f7"),
        ("https://a.blob.core.windows.net/c?sv=2022&sig=abcDEF123456789012%2B3D", "abcDEF1234"),
        ("AccountKey=Zm9vYmFyYmF6cXV4Zm9v==;EndpointSuffix=core", "Zm9vYmFyYmF6"),
        ("postgres://trainer:pa55word@db:5432/runs", "pa55word"),
        ("redis://:only-a-password@10.0.0.7:6379/0", "only-a-password"),
        ("https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXX", "B00000000"),
        ("https://open.feishu.cn/open-apis/bot/v2/hook/0aa1bb2c-3d4e-5f60", "0aa1bb2c"),
        ("https://oapi.dingtalk.com/robot/send?access_token=0123abcd4567", "0123abcd4567"),
        ("https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=693a91f6-7xxx", "693a91f6"),
        ("machine api.wandb.ai login user password 0123456789abcdef", "0123456789abcdef"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----",
            "MIIE",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n(the end is lost)", "MIIE"),
    ],
)
def test_a_secret_is_known_by_what_stands_before_it(line: str, secret: str) -> None:
    assert secret not in Redactor().text(line)


@pytest.mark.parametrize(
    "line",
    [
        "max_tokens=4096 eos_token=</s> pad_token: <pad>",
        "TOKENIZERS_PARALLELISM=false",
        "tokens_per_second: 3381.5",
        "[rank0]: KeyError: 'attention_mask'",
        "store->get('0') got error: Socket Timeout",
        "NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0",
        "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8)",
        "token: None, use_auth_token=True, num_key_value_heads=8",
        "ncclUniqueId key: 0",
        "commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
        "http://10.0.0.7:8265/api/jobs/ and user@example.org wrote",
        "loss=2.5 (secret sauce) keyboard: qwerty",
    ],
)
def test_lines_of_jobs_stay_as_they_are(line: str) -> None:
    redactor = Redactor()
    assert redactor.text(line) == line
    assert redactor.counts == {}


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *((n, True) for n in ("HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD")),
        *((n, True) for n in ("DB_PWD", "MY_KEY", "SENTRY_DSN", "SLACK_WEBHOOK", "UNHANG_NOTIFY")),
        *((n, False) for n in ("PWD", "OLDPWD", "TOKENIZERS_PARALLELISM", "MAX_TOKENS")),
        *((n, False) for n in ("SSH_AUTH_SOCK", "RANK", "NCCL_SOCKET_IFNAME", "KEYBOARD", "PATH")),
    ],
)
def test_names_of_secrets(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


def test_a_secret_of_the_environment_goes_from_every_text() -> None:
    redactor = Redactor([{"MY_TOKEN": "correct horse battery", "RANK": "3", "A_KEY": "true"}])
    line = "sent correct%20horse%20battery and correct horse battery to rank 3, true"
    told = redactor.text(line)
    assert "horse" not in told
    assert told.endswith("to rank 3, true")
    assert redactor.counts == {"known secret": 2}


def test_an_environment_loses_values_and_keeps_names() -> None:
    redactor = Redactor()
    data = b"RANK=1\0WORLD_SIZE=4\0HF_TOKEN=abc\0LINES=a\nb\0EMPTY=\0GLOO_SOCKET_IFNAME=lo\0"
    assert redactor.environment(data).decode() == (
        "RANK=1 WORLD_SIZE=4\nEMPTY=\nGLOO_SOCKET_IFNAME=lo\nHF_TOKEN=[redacted variable]\n"
        "LINES=a\\nb\nRANK=1\nWORLD_SIZE=4\n"
    )


def test_bytes_that_are_no_text_stay() -> None:
    data = bytes(range(256)) + b" password=abcdefgh "
    assert Redactor().data(data) == bytes(range(256)) + b" password=[redacted named secret] "


VALUES = st.text(BODY, min_size=12, max_size=60).filter(lambda value: not is_harmless(value))


@given(st.text(max_size=80), VALUES, st.text(max_size=80))
@example("", "a" * 12, "")
def test_a_known_secret_never_stays(before: str, value: str, after: str) -> None:
    redactor = Redactor([{"ANY_SECRET": value}])
    assert value not in redactor.text(before + value + after)


@given(st.text(max_size=200), VALUES)
def test_redacting_twice_changes_nothing(around: str, value: str) -> None:
    redactor = Redactor([{"ANY_SECRET": value}])
    once = redactor.text(f"{around} token={value} {around}")
    assert redactor.text(once) == once


@given(st.text(string.ascii_letters + string.digits + " .,:=_-/[]()\n", max_size=300))
def test_redacting_never_adds_lines(text: str) -> None:
    assert Redactor().text(text).count("\n") <= text.count("\n")


@pytest.mark.parametrize("lines", [0, 2, 200])
@pytest.mark.parametrize("length", [30_000, 300_000])
def test_a_line_full_of_beginnings_is_looked_at_about_once(lines: int, length: int) -> None:
    line = b"login a password b " * (length // 19)
    looked_at = sum(end - begin for begin, end in _windows(line, b"login", lines))
    assert looked_at < 1.1 * length
