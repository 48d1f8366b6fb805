/**
 * A certificate for 127.0.0.1, ::1 and localhost without an authority, and its key: for tests only, not a secret.
 * Node.js cannot make one. It was made once, valid from 2020 to 2120, with `openssl ca -selfsign` on a P-256 key.
 */

export const CERTIFICATE = `
-----BEGIN CERTIFICATE-----
MIIBejCCASCgAwIBAgIBATAKBggqhkjOPQQDAjAWMRQwEgYDVQQDDAtzdHJlc3Mg
dGVzdDAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowFjEUMBIGA1UE
AwwLc3RyZXNzIHRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATYFsmrOZsU
qkAoNkZg/EMYd4Zl898i5HrdX6s92TQ+2QX9rssuTRy/qDok5Vj2rag9h/u1Gnwg
+/E0NojlUThYo10wWzAMBgNVHRMBAf8EAjAAMCwGA1UdEQQlMCOHBH8AAAGHEAAA
AAAAAAAAAAAAAAAAAAGCCWxvY2FsaG9zdDAdBgNVHQ4EFgQU5kRb80C8wwlhpsGT
3Qb+EpdrEXQwCgYIKoZIzj0EAwIDSAAwRQIgU8glCFKxo3qy6eyPW554jMMDC6Q/
DtA8V4d3eLtThrkCIQDAy7PvoVdSM06ZtHNF3o4xxo40PCx+khPObZdF4Ju9FQ==
-----END CERTIFICATE-----
`;

export const CERTIFICATE_KEY = `
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgkGAnMQcjPBySuZiu
+mgx6oUERXsY1pfF/QATNwh7gg2hRANCAATYFsmrOZsUqkAoNkZg/EMYd4Zl898i
5HrdX6s92TQ+2QX9rssuTRy/qDok5Vj2rag9h/u1Gnwg+/E0NojlUThY
-----END PRIVATE KEY-----
`;
