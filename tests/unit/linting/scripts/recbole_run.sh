for model in BPR LightGCN; do
    python run_recbole.py --model=$model --dataset=ml-1m --config_files=overall.yaml \
        --nproc=4 --ip=127.0.0.1 --port=5670 --world_size=4 --group_offset=0
done
