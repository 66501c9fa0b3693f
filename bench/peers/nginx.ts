import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../test/helpers/free-port.ts'
import type { Child } from '../child.ts'

/** Whether nginx is installed. */
export function hasNginx (): boolean {
  return spawnSync('nginx', ['-v']).status === 0
}

/** Starts nginx as a proxy with one worker and connections that are kept; disposing of it stops it. */
export async function startNginx (upstreamUrl: string, workspace: string): Promise<Child> {
  const folder = await mkdtemp(join(workspace, 'nginx-'))
  const port = await freePort()
  await writeFile(join(folder, 'nginx.conf'), configOf(folder, port, new URL(upstreamUrl).host))
  const child = spawn('nginx', ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log'], { stdio: 'ignore' })
  const { pid = 0 } = child
  while (child.exitCode === null && (await workersOf(pid)).length === 0) await pause(20)
  if (child.exitCode !== null) throw new Error(await readFile(join(folder, 'error.log'), 'utf8'))

  return {
    url: `http://127.0.0.1:${port}/v1`,
    key: 'none',
    async usage () {
      const [worker = 0] = await workersOf(pid)
      const [[, residentPages = '0'], [busyNs = '0']] = await Promise.all([wordsOf(worker, 'statm'), wordsOf(worker, 'schedstat')])
      return { cpuUs: Number(busyNs) / 1_000, rssBytes: Number(residentPages) * pageBytes }
    },
    ask: () => Promise.reject(new Error('nginx has nothing to ask')),
    async [Symbol.asyncDispose] () {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    }
  }
}

const pageBytes = 4_096

/** Ids of the processes that a process has started. */
async function workersOf (pid: number): Promise<number[]> {
  return (await wordsOf(pid, `task/${pid}/children`)).map(Number)
}

async function wordsOf (pid: number, file: string): Promise<string[]> {
  const text = await readFile(join('/proc', String(pid), file), 'utf8').catch(() => '')
  return text.split(/\s+/).filter(word => word !== '')
}

function configOf (folder: string, port: number, upstream: string): string {
  return `
daemon off;
worker_processes 1;
pid ${join(folder, 'nginx.pid')};
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${join(folder, 'body')};
  proxy_temp_path ${join(folder, 'proxy')};
  fastcgi_temp_path ${join(folder, 'fastcgi')};
  uwsgi_temp_path ${join(folder, 'uwsgi')};
  scgi_temp_path ${join(folder, 'scgi')};
  client_max_body_size 32m;
  # The worker may not write to the folder of whoever starts it.
  client_body_buffer_size 1m;
  upstream provider { server ${upstream}; keepalive 128; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`
}
