"""What decode.py, attention_random.py, quantised.py and python.py share: candidates as CUDA graphs over several copies of their inputs, so that the host's time is
outside and the caches do not hold what the next call reads; the candidates in turns in one process; the result file.

Compiling and capturing take most of the time of a script with many rows. in_workers() has several processes do that at once, each for some of the rows; when
all are done, one after the other measures its own, so that nothing else runs on the GPU meanwhile.

Importing it reads the command line and ends the program with 77 where there is no PyTorch or no GPU. --device cpu tries a script itself, with small sizes
and without graphs.
"""
import argparse
import datetime
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'bind', 'python'))
READ_LIMIT = 4.6e12  # bytes a second that an H200's memory gives to a kernel that only reads
GRAPH_SECONDS, MOST_CALLS = 2e-3, 192  # of a graph
ROTATED = 256 << 20  # bytes of all copies of the inputs: five times the second cache


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument('--kiln', default='build/kiln', help='the kiln program; its folder holds libkiln.so')
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--seconds', type=float, default=1e9, help='rows that would begin later are left out')
    parser.add_argument('--only', default='', help='rows whose names have this in them')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--count', type=int, default=40, help='of random shapes')
    parser.add_argument('--json', help='write the results there')
    parser.add_argument('--device', default='cuda')
    return parser.parse_args()


WORKER = [word[len('--worker='):] for word in sys.argv if word.startswith('--worker=')]  # its rows and when the first process began
sys.argv = [word for word in sys.argv if not word.startswith('--worker=')]
FLAGS = [flag for flag in ('--graphs',) if flag in sys.argv]  # what only some scripts have
sys.argv = [word for word in sys.argv if word not in FLAGS]
options = parse()
START = float(WORKER[0].split(':')[1]) if WORKER else time.monotonic()
library = os.path.join(os.path.dirname(os.path.abspath(options.kiln)), 'libkiln.so')
if 'KILN_LIBRARY' not in os.environ and os.path.exists(library):
    os.environ['KILN_LIBRARY'] = library
try:
    import torch
except ImportError:
    print('skipped: PyTorch is not installed')
    sys.exit(77)
IS_GPU = options.device == 'cuda'
if IS_GPU and not torch.cuda.is_available():
    print('skipped: PyTorch sees no GPU')
    sys.exit(77)
torch.manual_seed(options.seed)
warnings.filterwarnings('ignore')  # why a back end does not take a call
left_out = []


def copies_of(size):
    """how many copies of inputs of so many bytes lie beside each other"""
    return max(2, min(16, -(-ROTATED // max(size, 1)))) if IS_GPU else 1


def is_wanted(row):
    if options.only and options.only not in row:
        return False
    if time.monotonic() - START > options.seconds:
        left_out.append(row)
        return False
    return True


def captured(call, copies, between=lambda: None):
    """a function that runs call(0), call(1) … as one graph, some of them more than once. between() is called after the calls that warm up: to drop their
    gradients. Nothing may hold an autograd graph from before: its nodes keep the stream on which they were made, which is not the captured one."""
    if not IS_GPU:
        return lambda: [call(n) for n in range(copies)]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for n in range(2):
            call(n % copies)
    torch.cuda.current_stream().wait_stream(side)
    between()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        for n in range(copies):
            call(n)
    return graph.replay


def once(replay):
    """seconds of one replay"""
    if not IS_GPU:
        start = time.perf_counter()
        replay()
        return time.perf_counter() - start
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    replay()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1e-3


def graphs(candidates, copies, are_graphs=True, most_calls=MOST_CALLS):
    """a function that gives the seconds of one call, for each candidate that runs. A graph repeats the copies until it takes about two milliseconds, beside
    which its own launch is little. Where ours cannot be captured none is."""
    made = {}
    for name, call in candidates.items():
        try:
            replay = captured(call, copies) if are_graphs else lambda call=call: [call(n) for n in range(copies)]
            replay()
            took = min(once(replay) for _ in range(5 if IS_GPU else 1))  # other processes may be at work
            most = max(1, most_calls // copies)
            repeats = copies * max(1, min(most, int(GRAPH_SECONDS / max(took, 1e-6)))) if IS_GPU and are_graphs else copies
            if repeats > copies:
                replay = captured(lambda n, call=call: call(n % copies), repeats)
            made[name] = lambda replay=replay, repeats=repeats, call=call: once(replay) / repeats  # the call keeps its inputs
        except Exception as error:
            if IS_GPU:
                torch.cuda.synchronize()
            if name == 'kiln' and are_graphs and IS_GPU:
                print('  not as a graph: %s' % str(error).split('\n')[0])
                return graphs(candidates, copies, False)
            if name == 'kiln':
                raise
            if options.only:
                print('  %s: %s' % (name, str(error).split('\n')[0]))
    return made


def in_turns(made):
    """seconds of one call of each: the median of the rounds, all in turns"""
    rounds = {name: [] for name in made}
    for call in made.values():
        call()
    for _ in range(options.rounds):
        for name, call in made.items():
            rounds[name].append(call())
    return {name: statistics.median(rounds[name]) for name in made}


def times(candidates, copies, are_graphs=True):
    return in_turns(graphs(candidates, copies, are_graphs))


def work(rows, prepare):
    """one of the processes of in_workers()"""
    measures = {}
    for row in rows:
        measures[row] = prepare(row)
    print('@ready', flush=True)
    sys.stdin.readline()
    for row in rows:
        if is_wanted(row):
            print('@' + json.dumps([row, measures[row]()]), flush=True)
        else:
            print('@' + json.dumps([row, None]), flush=True)
        measures[row] = None


def started(share):
    """a process for these rows; what it prints is read line by line"""
    word = '--worker=%s:%r' % (','.join(share), START)
    return subprocess.Popen([sys.executable, os.path.abspath(sys.argv[0])] + sys.argv[1:] + FLAGS + [word], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def said(process):
    """what follows the @ of its next such line; other lines are passed on. None: it has ended"""
    for line in process.stdout:
        if line.startswith('@'):
            return line[1:].strip()
        print(line, end='', flush=True)
    return None


def in_workers(rows, prepare, workers=12, kind=lambda row: row):
    """rows: names. prepare(row) compiles, checks and captures, and returns a function that measures and returns what json can write. Yields the row and that, or
    None where there was no time for it. Rows of the same kind, which need the same kernels, go to one process."""
    rows = [row for row in rows if is_wanted(row)]
    if WORKER:
        work([row for row in WORKER[0].split(':')[0].split(',')], prepare)
        sys.exit(0)
    shares = [[] for _ in range(max(1, min(workers, len(rows))))]
    for one in dict.fromkeys(map(kind, rows)):
        min(shares, key=len).extend(row for row in rows if kind(row) == one)
    processes = [(started(share), share) for share in shares if share]
    ready = [said(process) for process, _ in processes]
    for (process, share), word in zip(processes, ready):
        missing = set(share)
        if word == 'ready':
            process.stdin.write('go\n')
            process.stdin.flush()
            while missing:
                line = said(process)
                if line is None:
                    break
                row, what = json.loads(line)
                missing.discard(row)
                if what is None:
                    left_out.append(row)
                yield row, what
        process.stdin.close()
        process.wait()
        for row in missing:
            print('wrong: the process of %s has ended' % row)
            yield row, {'failed': 1}


def off_by(got, want):
    """the largest difference, for numbers of about 1"""
    got, want = got.detach().float(), want.detach().float()
    return ((got - want).abs() / (want.abs() + 1)).max().item() if got.numel() else 0.0


def summary(results, ratios, end):
    """mean and worst of the ratios of all rows"""
    if ratios:
        results['mean.' + end] = statistics.geometric_mean(ratios)
        results['worst.' + end] = min(ratios)
        print('%s: mean %.3f, worst %.3f, %d rows' % (end, results['mean.' + end], results['worst.' + end], len(ratios)))


def write(bench, sources, results, failed):
    """the result file: of a whole run without a mistake, or --json's"""
    folder = os.environ.get('RESULTS', os.path.join(ROOT, 'bench', 'results'))
    path = options.json or (os.path.join(folder, bench + '.json') if IS_GPU and not failed and not left_out and not options.only else None)
    if not path or not results:
        return
    text = json.dumps({
        'bench': bench, 'command': ' '.join(['python3 bench/gpu/' + os.path.basename(sys.argv[0])] + FLAGS),
        'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ'),
        'machine': '%s %s' % (platform.system(), platform.machine()), 'gpu': torch.cuda.get_device_name(0) if IS_GPU else 'none',
        'torch': torch.__version__, 'python': platform.python_version(), 'kiln': 'kiln ' + __import__('kiln').__version__, 'left_out': len(left_out),
        'kernels': {name: hashlib.sha256(open(os.path.join(ROOT, name), 'rb').read()).hexdigest() for name in sources},
        'results': {k: float('%.6g' % v) for k, v in results.items()},
    }, indent=0)
    with open(path, 'w') as file:
        file.write(text + '\n')


def finish(bench, sources, results, failed):
    """writes the result file; the program's status"""
    if left_out:
        print('left out for lack of time: %d rows' % len(left_out))
    write(bench, sources, results, failed)
    print('%s: %d failed' % (bench, failed))
    return failed != 0
