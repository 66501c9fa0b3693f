import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import { UpstreamError } from '../../shared/errors.ts'
import type { Authorize } from '../upstream/response.ts'
import type { AwsIdentity } from './credentials.ts'

/** Sends the key only to Bedrock, not to S3. */
export const bearerOf = (apiKey: string): Authorize => async ({ url }) => {
  if (serviceOf(url) === 'bedrock') return { authorization: `Bearer ${apiKey}` }
  throw new UpstreamError('auth', 'no', 'A key of Amazon Bedrock cannot read from a bucket; use AWS credentials.')
}

/** Signs each request by Signature Version 4, with `@smithy/signature-v4`, which is loaded on first use. */
export function signedBy (identity: AwsIdentity, region: string): Authorize {
  return async ({ method, url, headers, body }) => {
    const credentials = await identity.credentials()
    const { SignatureV4 } = await import('@smithy/signature-v4')
    const service = serviceOf(url)
    // S3 signs a path that is encoded once; all other services, one that is encoded twice.
    const signer = new SignatureV4({ service, region, credentials, sha256: Sha256, uriEscapePath: service !== 's3' })
    const type = headers['content-type']
    const signed = await signer.sign({
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: queryOf(url),
      headers: { host: url.host, ...(type !== undefined && { 'content-type': type }) },
      body
    })
    const { host: _, ...own } = signed.headers
    return own
  }
}

/** The service in the scope of a signature. Hosts other than those of S3 are Bedrock, or proxies of it. */
function serviceOf ({ hostname }: URL): 's3' | 'bedrock' {
  return /(^|\.)s3[.-]/.test(hostname) ? 's3' : 'bedrock'
}

function queryOf ({ searchParams }: URL): Record<string, string[]> {
  return Object.fromEntries([...new Set(searchParams.keys())].map(name => [name, searchParams.getAll(name)]))
}

/** Node's SHA-256 in the form that the signer takes. */
class Sha256 {
  #hash: Hash | Hmac

  constructor (secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret))
  }

  update (data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data))
  }

  async digest (): Promise<Uint8Array> {
    return this.#hash.digest()
  }

  reset (): void {}
}

function bytesOf (data: string | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data)
  if (!ArrayBuffer.isView(data)) return new Uint8Array(data)
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
}
