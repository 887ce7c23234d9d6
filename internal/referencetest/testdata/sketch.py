#!/usr/bin/env python3
"""Writes random graphs of the sketch past.py with their results, as JSON lines for TestAgreesWithSketch.
usage: PYTHONPATH=FOLDER_OF_PAST sketch.py GRAPHS SEED >FILE"""
import json, random, sys
import past

for i in range(int(sys.argv[1])):
    ids, g = past.make(random.Random(int(sys.argv[2]) * 1000003 + i))
    for x in ids:  # a key twice in one node is one write there
        g[x]['writes'] = list(dict.fromkeys(g[x]['writes']))
    w = past.walk(ids, g, random.Random(i))
    if w is not None:
        views = [{'rank': k[0], 'order': list(k[1]), 'node': k[2], 'state': v[0]} for k, v in w['views'].items()]
        print(json.dumps({'yaml': past.emit(ids, g, random.Random(i)), 'path': w['path'], 'state': w['state'], 'views': views}))
