// Takes pushes of Postrider, or of Google Pub/Sub, and handles each message once. It needs Node 18 or later and nothing else.
// What it checks is set in the environment: see ../README.md.
import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';

const { LISTEN = '127.0.0.1:8443', TLS_CERT, TLS_KEY, CLIENT_CA, ISSUER, AUDIENCE, EMAIL, WEBHOOK_SECRETS = '' } = process.env;
const secrets = WEBHOOK_SECRETS.split(/\s+/).filter(Boolean);
const maxBody = 14 << 20; // above the largest push: 10 MB of data as base64
const maxAge = 300; // seconds that a signature may be old, so that one that was recorded is of no use later
const skew = 60; // seconds that the clocks may differ by

// The issuer's keys by id. One that is not known may be new, since the issuer rotates them; but no stranger's token makes us
// fetch all the time.
let keys = new Map();
let fetched = 0;

async function keyOf(id) {
  if (!keys.has(id) && Date.now() - fetched > 10_000) {
    fetched = Date.now();
    const discovery = await getJSON(`${ISSUER}/.well-known/openid-configuration`);
    const set = await getJSON(discovery.jwks_uri);
    keys = new Map(set.keys.map((jwk) => [jwk.kid, createPublicKey({ key: jwk, format: 'jwk' })]));
  }
  if (!keys.has(id)) throw new Error("token: its key is not one of the issuer's");
  return keys.get(id);
}

async function getJSON(url) {
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return response.json();
}

// Checks that a token is signed by the issuer, is meant for us, speaks for the sender we expect, and has not expired.
async function verifyToken(token) {
  const parts = token.split('.');
  if (parts.length !== 3) throw new Error('token: there is none');
  const [header, claims] = parts.slice(0, 2).map((part) => JSON.parse(Buffer.from(part, 'base64url')));
  if (header.alg !== 'RS256') throw new Error('token: it is not signed by RS256');
  const signed = Buffer.from(`${parts[0]}.${parts[1]}`);
  if (!verify('sha256', signed, await keyOf(header.kid), Buffer.from(parts[2], 'base64url'))) throw new Error('token: it is forged');
  const now = Date.now() / 1000;
  if (claims.iss !== ISSUER) throw new Error(`token: it is of the issuer ${claims.iss}`);
  if (claims.aud !== AUDIENCE) throw new Error(`token: it is meant for ${claims.aud}`);
  if (claims.email !== EMAIL || claims.email_verified !== true) throw new Error(`token: it speaks for ${claims.email}`);
  if (!(now < claims.exp + skew)) throw new Error('token: it has expired');
  if (!(now > claims.iat - skew)) throw new Error('token: it is of the future');
}

// Checks a signature of Standard Webhooks: one of the sender's secrets must be one of ours.
function verifyWebhook(headers, body) {
  const timestamp = headers['webhook-timestamp'] ?? '';
  if (!/^\d+$/.test(timestamp)) throw new Error('signature: there is none');
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > maxAge) throw new Error('signature: it is too old, or of the future');
  const given = (headers['webhook-signature'] ?? '').split(' ').map((text) => Buffer.from(text));
  for (const secret of secrets) {
    const mac = createHmac('sha256', Buffer.from(secret.replace(/^whsec_/, ''), 'base64'));
    mac.update(`${headers['webhook-id']}.${timestamp}.`).update(body);
    const want = Buffer.from(`v1,${mac.digest('base64')}`);
    if (given.some((signature) => signature.length === want.length && timingSafeEqual(signature, want))) return;
  }
  throw new Error('signature: it is not by a secret of ours');
}

async function read(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > maxBody) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const seen = new Set(); // in earnest: a table with a unique column, in the transaction that handles the message

// Takes one push. A 2xx acknowledges it; anything else, and it comes again.
async function receive(request, response) {
  let body;
  try {
    body = await read(request);
    if (ISSUER) await verifyToken((request.headers.authorization ?? '').replace(/^Bearer /, ''));
    if (secrets.length > 0) verifyWebhook(request.headers, body);
  } catch (error) {
    console.log(`refused: ${error.message}`);
    response.writeHead(401).end();
    return;
  }
  let message;
  try {
    ({ message } = JSON.parse(body));
  } catch {
    message = undefined;
  }
  if (!message?.messageId) {
    response.writeHead(400).end();
    return;
  }
  if (seen.has(message.messageId)) {
    console.log(`again ${message.messageId}`); // delivery is at least once
  } else {
    console.log(`handled ${message.messageId}: ${Buffer.from(message.data ?? '', 'base64')}`);
    seen.add(message.messageId);
  }
  response.writeHead(204).end();
}

// With authorities of clients, none gets in without a certificate of theirs.
const server = TLS_CERT
  ? https.createServer(
      {
        cert: readFileSync(TLS_CERT),
        key: readFileSync(TLS_KEY),
        ...(CLIENT_CA && { ca: readFileSync(CLIENT_CA), requestCert: true, rejectUnauthorized: true }),
      },
      receive,
    )
  : http.createServer(receive);
const colon = LISTEN.lastIndexOf(':');
server.listen(Number(LISTEN.slice(colon + 1)), LISTEN.slice(0, colon), () => {
  const { address, port } = server.address();
  console.log(`listening on ${TLS_CERT ? 'https' : 'http'}://${address}:${port}`);
});
