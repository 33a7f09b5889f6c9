export { generateMedia } from './generate-media.ts';
