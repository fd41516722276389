#!/usr/bin/env python3
"""Measure all-reduce over the GPUs of this host with NCCL, without multicast, as JSON.

    bench/allreduce.py [GPUS] >allreduce.json      (needs torch)

Algorithm bandwidth is bytes / time; bus bandwidth is that times 2(n-1)/n: what each device
sends in one direction, to be held against the link's figure. Median of five rounds."""
import json, os, statistics, sys

OFF = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}
os.environ.update(OFF)
import torch, torch.distributed as dist, torch.multiprocessing as mp


def work(rank, n):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29531", rank=rank, world_size=n)
    rows = []
    for size in [8 << k for k in range(10, 26)]:  # 8 KiB to 256 MiB
        x = torch.ones(size // 2, dtype=torch.bfloat16, device="cuda")
        dist.all_reduce(x)
        assert bool((x == n).all()), "the sum is wrong"
        x.zero_()
        times, calls = [], max(20, min(1000, (2 << 30) // size))
        for _ in range(6):  # the first warms up
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(calls):
                dist.all_reduce(x)
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) / calls / 1e3)
        t = statistics.median(times[1:])
        rows.append({"bytes": size, "us": round(t * 1e6, 2), "algorithm_gb_s": round(size / t / 1e9, 2), "bus_gb_s": round(2 * (n - 1) / n * size / t / 1e9, 2)})
    if rank == 0:
        names = [torch.cuda.get_device_name(i) for i in range(n)]
        json.dump({"devices": names, "dtype": "bf16", "torch": torch.__version__, "nccl": ".".join(map(str, torch.cuda.nccl.version())), "environment": OFF, "all_reduce": rows}, sys.stdout, indent=1)
        print()
    dist.destroy_process_group()


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else torch.cuda.device_count()
    mp.spawn(work, args=(n,), nprocs=n)
