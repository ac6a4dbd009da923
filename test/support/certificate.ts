import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestScope } from './http.ts'

/** Returns a key and a certificate for 127.0.0.1, `null` where there is no openssl. */
export async function createCertificate(
  t: Pick<TestScope, 'teardown'>,
): Promise<{ key: Buffer; cert: Buffer } | null> {
  const folder = await mkdtemp(join(tmpdir(), 'remex-tls-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
  try {
    await promisify(execFile)('openssl', [
      'req',
      '-x509',
      ...kind,
      ...subject,
      '-keyout',
      key,
      '-out',
      cert,
    ])
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  return { key: await readFile(key), cert: await readFile(cert) }
}
