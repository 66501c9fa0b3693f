import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../helpers/free-port.ts'
import { temporaryFolder } from '../helpers/process.ts'
import { keepOpen } from '../helpers/keep-open.ts'

interface Teardown { teardown (work: () => unknown): void }

/** Starts a proxy in front of a server of this machine and returns its port. */
export type StartProxy = (t: Teardown, port: number) => Promise<number>

/** How long a proxy waits for more of a response. */
export const idleSeconds = 5

/**
 * The usual proxies, which give up after a minute of silence; here after `idleSeconds`.
 */
export const proxies: Readonly<Record<string, StartProxy>> = {
  nginx: async (t, port) => isInstalled('nginx', '-v') ? await startNginx(t, port) : await startIdleProxy(t, port),
  haproxy: async (t, port) => isInstalled('haproxy', '-v') ? await startHaproxy(t, port) : await startIdleProxy(t, port)
}

/**
 * Starts nginx with the settings of `deploy/` in front of nodes on these ports; null if it is not installed.
 * Every response names the node in `x-node`, as `127.0.0.1:<port>`. `version` is the HTTP version that it
 * speaks to them.
 */
export async function startNginxBefore (
  t: Teardown, nodes: readonly number[], version: '1.0' | '1.1' = '1.1'
): Promise<number | null> {
  if (!isInstalled('nginx', '-v')) return null
  const [folder, port] = [await temporaryFolder(t), await freePort()]
  const settings = await readFile(join(import.meta.dirname, '..', '..', 'deploy', 'nginx.conf'), 'utf8')
  const text = nodes.reduce((text, node, index) => text.replaceAll(`node-${index + 1}:8080`, `127.0.0.1:${node}`), settings)
    .replace('pid /tmp/nginx.pid;', `daemon off; master_process off; pid ${folder}/pid; error_log stderr crit;`)
    .replace('access_log off;', `access_log off; add_header x-node $upstream_addr always; ${pathsIn(folder)}`)
    .replace('listen 8080;', `listen 127.0.0.1:${port};`)
    .replace('proxy_http_version 1.1;', `proxy_http_version ${version};`)
  await writeFile(join(folder, 'nginx.conf'), text)
  await run(t, 'nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], port)
  return port
}

/** The same with HAProxy; here `x-node` is `node-1` or `node-2`. */
export async function startHaproxyBefore (t: Teardown, nodes: readonly number[]): Promise<number | null> {
  if (!isInstalled('haproxy', '-v')) return null
  const [folder, port] = [await temporaryFolder(t), await freePort()]
  const settings = await readFile(join(import.meta.dirname, '..', '..', 'deploy', 'haproxy.cfg'), 'utf8')
  const text = nodes.reduce((text, node, index) => text.replace(`node-${index + 1}:8080`, `127.0.0.1:${node}`), settings)
    .replace('maxconn 20000', 'maxconn 1000')
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace('balance leastconn', 'balance leastconn\n    http-response set-header x-node %s')
  await writeFile(join(folder, 'haproxy.cfg'), text)
  await run(t, 'haproxy', ['-db', '-q', '-f', join(folder, 'haproxy.cfg')], port)
  return port
}

function pathsIn (folder: string): string {
  const names = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return names.map(name => `${name}_temp_path ${folder}/${name};`).join(' ')
}

function isInstalled (command: string, flag: string): boolean {
  try {
    execFileSync(command, [flag], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

async function startNginx (t: Teardown, upstream: number): Promise<number> {
  const [folder, port] = [await temporaryFolder(t), await freePort()]
  await writeFile(join(folder, 'nginx.conf'), `
    daemon off; master_process off; pid ${folder}/pid; error_log stderr crit; worker_processes 1;
    events { worker_connections 64; }
    http {
      access_log off; ${pathsIn(folder)}
      server {
        listen 127.0.0.1:${port};
        location / { proxy_pass http://127.0.0.1:${upstream}; proxy_set_header Host $http_host; proxy_read_timeout ${idleSeconds}s; }
      }
    }`)
  await run(t, 'nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], port)
  return port
}

async function startHaproxy (t: Teardown, upstream: number): Promise<number> {
  const [folder, port] = [await temporaryFolder(t), await freePort()]
  await writeFile(join(folder, 'haproxy.cfg'), `
defaults
  mode http
  timeout connect ${idleSeconds}s
  timeout client ${idleSeconds}s
  timeout server ${idleSeconds}s
frontend in
  bind 127.0.0.1:${port}
  default_backend out
backend out
  server gateway 127.0.0.1:${upstream}
`)
  await run(t, 'haproxy', ['-db', '-q', '-f', join(folder, 'haproxy.cfg')], port)
  return port
}

/** Stands in for the real proxies where they are not installed: gives up after `idleSeconds` of silence. */
async function startIdleProxy (t: Teardown, upstream: number): Promise<number> {
  const server = createServer(keepOpen, (exchange, outgoing) => {
    const { method, url: path, headers } = exchange
    const forwarded = request({ host: '127.0.0.1', port: upstream, method, path, headers }, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on('error', () => outgoing.destroy()).pipe(outgoing)
    })
    forwarded.setTimeout(idleSeconds * 1000, () => forwarded.destroy())
    forwarded.on('error', () => outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(504).end())
    outgoing.on('close', () => forwarded.destroy())
    exchange.pipe(forwarded)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function run (t: Teardown, command: string, args: string[], port: number): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = once(child, 'exit')
  let output = ''
  child.stderr.setEncoding('utf8').on('data', text => { output += text })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  for (let attempts = 0; !await accepts(port); attempts++) {
    if (attempts === 200 || child.exitCode !== null) throw new Error(`${command} does not start: ${output}`)
    await sleep(20)
  }
}

async function accepts (port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const connected = await new Promise<boolean>(resolve => {
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
  })
  socket.destroy()
  return connected
}
