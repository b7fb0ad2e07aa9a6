import time
from tests.workers.rig import *
def test_prof(kafka, unique, tmp_path):
    t=time.time()
    def lap(w):
        nonlocal t
        print(w, round(time.time()-t,2)); t=time.time()
    topo=pair(tmp_path); lap("load")
    from streams.kafka import Cluster, deploy
    from streams.wire import Topics
    c=Cluster(kafka,Topics(unique))
    from streams.kafka.deploy import create, specs_of, read_catalog
    done=create(c, specs_of(topo,c.topics)); lap("create")
    s=read_catalog(c); lap("read_catalog")
    deploy(c,topo); lap("rest of deploy")
    r=Rig(c,topo)
    k=r.control(); lap("control")
    w=r.endpoint(control=k)
    cl=r.client(); lap("client")
    d=cl.begin("A", "DatabaseA", "InitiatorService", "TargetService"); lap("begin")
    cl.send(d,b"x",wait=True); lap("send")
    cl.close(); lap("client close")
    r.records(r.topics.out("A")); lap("records")
    r.until(r.topics.out("A"),1); lap("until")
    w.stop(); lap("worker stop")
    k.stop(); lap("control stop")
    r.produce(r.topics.cmd("A"),"x",b""); lap("produce")
