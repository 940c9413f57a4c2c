"""Takes pushes of Postrider, or of Google Pub/Sub, and handles each message once.

It needs Python 3.9 or later and nothing else. What it checks is set in the environment: see ../README.md.
"""

import base64
import hashlib
import hmac
import http.server
import json
import os
import ssl
import threading
import time
import urllib.request

ISSUER = os.environ.get("ISSUER", "")
AUDIENCE = os.environ.get("AUDIENCE", "")
EMAIL = os.environ.get("EMAIL", "")
SECRETS = os.environ.get("WEBHOOK_SECRETS", "").split()
MAX_BODY = 14 << 20  # above the largest push: 10 MB of data as base64
MAX_AGE = 300  # seconds that a signature may be old, so that one that was recorded is of no use later
SKEW = 60  # seconds that the clocks may differ by


class Refused(Exception):
    """The push does not prove that it comes from the sender we expect."""


def unbase64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Keys:
    """The issuer's keys by id. One that is not known may be new, since the issuer rotates them."""

    def __init__(self):
        self.lock = threading.Lock()
        self.known = {}
        self.fetched = 0.0

    def get(self, key_id):
        with self.lock:
            if key_id not in self.known and time.monotonic() - self.fetched > 10:
                self.fetched = time.monotonic()
                discovery = self.read(ISSUER + "/.well-known/openid-configuration")
                self.known = {
                    key["kid"]: tuple(int.from_bytes(unbase64url(key[part]), "big") for part in "ne")
                    for key in self.read(discovery["jwks_uri"])["keys"]
                }
            if key_id not in self.known:
                raise Refused("token: its key is not one of the issuer's")
            return self.known[key_id]

    @staticmethod
    def read(url):
        with urllib.request.urlopen(url, timeout=10) as response:
            return json.load(response)


KEYS = Keys()


def is_rs256(n, e, text, signature):
    """Verifies RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017, 8.2.2): what was signed must be, whole, what should have been.

    The standard library has no RSA. If you have PyJWT and cryptography, use those.
    """
    size = (n.bit_length() + 7) // 8
    if len(signature) != size or int.from_bytes(signature, "big") >= n:
        return False
    digest = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(text).digest()
    want = b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest
    return hmac.compare_digest(pow(int.from_bytes(signature, "big"), e, n).to_bytes(size, "big"), want)


def verify_token(token):
    """Checks that a token is signed by the issuer, is meant for us, speaks for the sender we expect, and has not expired."""
    parts = token.split(".")
    if len(parts) != 3:
        raise Refused("token: there is none")
    header, claims = (json.loads(unbase64url(part)) for part in parts[:2])
    if header.get("alg") != "RS256":
        raise Refused("token: it is not signed by RS256")
    n, e = KEYS.get(header.get("kid"))
    if not is_rs256(n, e, (parts[0] + "." + parts[1]).encode(), unbase64url(parts[2])):
        raise Refused("token: it is forged")
    if claims.get("iss") != ISSUER:
        raise Refused("token: it is of the issuer %r" % claims.get("iss"))
    if claims.get("aud") != AUDIENCE:
        raise Refused("token: it is meant for %r" % claims.get("aud"))
    if claims.get("email") != EMAIL or claims.get("email_verified") is not True:
        raise Refused("token: it speaks for %r" % claims.get("email"))
    if time.time() >= claims["exp"] + SKEW:
        raise Refused("token: it has expired")
    if time.time() <= claims["iat"] - SKEW:
        raise Refused("token: it is of the future")


def verify_webhook(headers, body):
    """Checks a signature of Standard Webhooks: one of the sender's secrets must be one of ours."""
    timestamp = headers.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit()):
        raise Refused("signature: there is none")
    if abs(time.time() - int(timestamp)) > MAX_AGE:
        raise Refused("signature: it is too old, or of the future")
    text = (headers.get("webhook-id", "") + "." + timestamp + ".").encode() + body
    for secret in SECRETS:
        key = base64.b64decode(secret[len("whsec_") :] if secret.startswith("whsec_") else secret)
        want = b"v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest())
        for given in headers.get("webhook-signature", "").split(" "):
            if hmac.compare_digest(given.encode(), want):
                return
    raise Refused("signature: it is not by a secret of ours")


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    lock = threading.Lock()
    seen = set()  # in earnest: a table with a unique column, in the transaction that handles the message

    def do_POST(self):
        """Takes one push. A 2xx acknowledges it; anything else, and it comes again."""
        size = int(self.headers.get("Content-Length", "0"))
        if size > MAX_BODY:
            self.close_connection = True
            return self.answer(413)
        body = self.rfile.read(size)
        try:
            if ISSUER:
                token = self.headers.get("Authorization", "")
                verify_token(token[len("Bearer ") :] if token.startswith("Bearer ") else "")
            if SECRETS:
                verify_webhook(self.headers, body)
        except (Refused, ValueError, KeyError, TypeError, OSError) as error:
            print("refused:", error, flush=True)
            return self.answer(401)
        try:
            message = json.loads(body)["message"]
            message_id, data = message["messageId"], base64.b64decode(message.get("data", ""))
        except (ValueError, KeyError, TypeError):
            return self.answer(400)
        with self.lock:
            if message_id in self.seen:
                print("again", message_id, flush=True)  # delivery is at least once
            else:
                print("handled %s: %s" % (message_id, data.decode("utf-8", "replace")), flush=True)
                self.seen.add(message_id)
        return self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    tls = None

    def finish_request(self, request, client_address):
        # Hands are shaken here, in the connection's own thread, so that nobody can hold up the others.
        if self.tls:
            request.settimeout(10)
            try:
                request = self.tls.wrap_socket(request, server_side=True)
            except OSError as error:
                print("refused: TLS:", error, flush=True)
                return
        try:
            self.RequestHandlerClass(request, client_address, self)
        finally:
            request.close()


def main():
    host, _, port = os.environ.get("LISTEN", "127.0.0.1:8443").rpartition(":")
    server = Server((host, int(port)), Receiver)
    scheme = "http"
    if os.environ.get("TLS_CERT"):
        scheme = "https"
        server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.tls.load_cert_chain(os.environ["TLS_CERT"], os.environ["TLS_KEY"])
        if os.environ.get("CLIENT_CA"):  # none gets in without a certificate of these authorities
            server.tls.load_verify_locations(os.environ["CLIENT_CA"])
            server.tls.verify_mode = ssl.CERT_REQUIRED
    print("listening on %s://%s:%d" % ((scheme,) + server.server_address[:2]), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
