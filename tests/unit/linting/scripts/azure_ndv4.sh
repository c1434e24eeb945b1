export NCCL_TOPO_FILE=/opt/microsoft/ndv4-topo.xml
export NCCL_IB_PCI_RELAXED_ORDERING=1
export UCX_NET_DEVICES=eth0
export CUDA_DEVICE_ORDER=PCI_BUS_ID
export NCCL_SOCKET_IFNAME=eth0
if [[ "${NCCL_TESTS_ONLY:-0}" == "1" ]]; then
    export NCCL_DEBUG=INFO
else
    export NCCL_DEBUG=WARN
fi
mpirun --map-by ppr:8:node -hostfile hosts ./train.sh
