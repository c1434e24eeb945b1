"""open_clip's own training program, with one model configuration more than it ships."""

import sys

import open_clip
from open_clip_train.main import main

open_clip.add_model_config("tiny-clip.json")
main(sys.argv[1:])
print("training finished", flush=True)
