// Portkey's gateway without its console. Runs in a folder in which its package is installed.

const { PORT } = process.env
process.argv.push(`--port=${PORT}`, '--headless')
await import('@portkey-ai/gateway/build/start-server.js')
console.log(`http://127.0.0.1:${PORT}/v1`)
