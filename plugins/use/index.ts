export { default as chat } from './chat.ts'
export { default as images } from './images.ts'
export { default as requests } from './requests.ts'
export { default as videos } from './videos.ts'
