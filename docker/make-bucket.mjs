// Makes the bucket of STORAGE_URL where it is missing; safe to repeat. A job of docker-compose.yml, run in the image.
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { openS3 } from '../dist/storage/s3-access.js';
import { parseS3Url } from '../dist/storage/s3-url.js';

const { bucket, client } = openS3(parseS3Url(process.env.STORAGE_URL ?? ''));
try {
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  process.stdout.write(`made the bucket ${bucket}\n`);
} catch (error) {
  if (error.name !== 'BucketAlreadyOwnedByYou') throw error;
  process.stdout.write(`the bucket ${bucket} was there\n`);
}
