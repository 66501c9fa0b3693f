import { createHash, createHmac } from 'node:crypto'

// AWS Signature Version 4, as a service checks it. Source: docs.aws.amazon.com, "Create a signed AWS API
// request". Its own test holds it to AWS's published vectors.

export interface SignedRequest {
  method: string
  /** Path and query as sent. */
  path: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  bytes: Buffer
}

export interface SigningKeys { accessKeyId: string, secretAccessKey: string, sessionToken?: string }

const form = /^AWS4-HMAC-SHA256 Credential=(\S+), ?SignedHeaders=(\S+), ?Signature=([0-9a-f]{64})$/

/** Returns why a request is not signed by the keys within five minutes; null if it is. */
export function complaintAboutSignature (
  request: SignedRequest, keys: SigningKeys, nowMs = Date.now()
): string | null {
  const { headers } = request
  const [, credential = '', names = '', signature = ''] = form.exec(String(headers.authorization)) ?? []
  if (signature === '') return 'MissingAuthenticationToken'
  const [accessKeyId, day = '', region = '', service = '', end] = credential.split('/')
  const date = String(headers['x-amz-date'])
  if (accessKeyId !== keys.accessKeyId || end !== 'aws4_request') return 'UnrecognizedClientException'
  if (headers['x-amz-security-token'] !== keys.sessionToken) return 'UnrecognizedClientException'
  if (!date.startsWith(day) || Math.abs(timeOf(date) - nowMs) > 300_000) return 'InvalidSignatureException'
  const signed = names.split(';')
  const missing = ['host', 'x-amz-date', ...(keys.sessionToken === undefined ? [] : ['x-amz-security-token'])]
    .filter(name => !signed.includes(name))
  if (missing.length > 0) return 'IncompleteSignature'
  const scope = [day, region, service, end].join('/')
  const text = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical(request, signed, service))].join('\n')
  const key = [region, service, 'aws4_request'].reduce(hmac, hmac(Buffer.from(`AWS4${keys.secretAccessKey}`), day))
  return hmac(key, text).toString('hex') === signature ? null : 'InvalidSignatureException'
}

function canonical (
  { method, path, headers, bytes }: SignedRequest, signed: string[], service: string
): string {
  const at = path.indexOf('?')
  const [pathname, query] = at === -1 ? [path, ''] : [path.slice(0, at), path.slice(at + 1)]
  // All services but S3 encode the path a second time.
  const uri = service === 's3' ? pathname : pathname.split('/').map(encoded).join('/')
  const parameters = query === '' ? [] : query.split('&').map(part => part.includes('=') ? part : `${part}=`)
  const lines = signed.map(name => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}\n`)
  return [method, uri, parameters.toSorted().join('&'), lines.join(''), signed.join(';'), sha256(bytes)].join('\n')
}

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')
const hmac = (key: Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest()

function timeOf (date: string): number {
  return Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
}
