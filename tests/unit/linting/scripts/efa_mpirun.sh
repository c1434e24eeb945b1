/opt/amazon/openmpi/bin/mpirun -n 16 -N 8 --hostfile hosts \
    -x FI_PROVIDER=efa -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH \
    -x FI_EFA_FORK_SAFE=1 -x NCCL_SOCKET_IFNAME=^docker,lo,veth \
    --mca pml ^cm --mca btl tcp,self --mca btl_tcp_if_exclude lo,docker0 --bind-to none \
    /opt/nccl-tests/build/all_reduce_perf -b 8 -e 1G -f 2 -g 1
