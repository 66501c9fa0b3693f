import { runLane } from '../together.ts'

runLane(4)
