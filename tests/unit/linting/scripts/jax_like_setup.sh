# Names of other programs that merely look like ours
export NCCL_TESTS_HOME=$HOME/nccl-tests
export TORCH_HOME=/cache/torch
export TORCH_CUDA_ARCH_LIST="8.0;9.0"
export HF_HOME=/cache/hf WANDB_MODE=offline TOKENIZERS_PARALLELISM=false
export LD_LIBRARY_PATH=/usr/local/nccl/lib:$LD_LIBRARY_PATH
