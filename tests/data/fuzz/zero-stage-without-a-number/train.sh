deepspeed train.py --zero_stage --bf16
