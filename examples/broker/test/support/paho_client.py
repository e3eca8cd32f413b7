# What paho-mqtt makes of the broker, in both versions: each line is a step that has come to pass. Arguments: the port.
import queue
import sys

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

PORT = int(sys.argv[1])
PATIENCE = 60


def step(*words):
    print(*words, flush=True)


class Client:
    def __init__(self, name, version=mqtt.MQTTv5, clean=True, expiry=0, will=None):
        self.events = queue.Queue()
        older = {} if version == mqtt.MQTTv5 else {"clean_session": clean}
        self.client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=name, protocol=version, **older)
        self.client.on_message = lambda _c, _u, m: self.events.put(("message", m))
        self.client.on_subscribe = lambda _c, _u, _i, codes, _p: self.events.put(("subscribed", [c.value for c in codes]))
        self.client.on_unsubscribe = lambda _c, _u, _i, codes, _p: self.events.put(("unsubscribed", None))
        self.client.on_connect = lambda _c, _u, flags, code, _p: self.events.put(("connected", (code.value, flags.session_present)))
        self.client.on_disconnect = lambda _c, _u, _f, code, _p: self.events.put(("disconnected", code.value))
        if will:
            self.client.will_set(*will)
        if version == mqtt.MQTTv5:
            properties = Properties(PacketTypes.CONNECT)
            properties.SessionExpiryInterval = expiry
            self.client.connect("127.0.0.1", PORT, 60, clean_start=clean, properties=properties)
        else:
            self.client.connect("127.0.0.1", PORT, 60)
        self.client.loop_start()
        self.session = self.next("connected")

    def next(self, what):
        kind, value = self.events.get(timeout=PATIENCE)
        assert kind == what, (kind, value, what)
        return value

    def subscribe(self, *args, **opts):
        self.client.subscribe(*args, **opts)
        return self.next("subscribed")

    def publish(self, topic, payload, qos=0, retain=False, properties=None):
        self.client.publish(topic, payload, qos, retain, properties).wait_for_publish(PATIENCE)

    def message(self):
        m = self.next("message")
        return m.topic, m.payload.decode(), m.qos, m.retain

    def leave(self):
        self.client.disconnect()
        self.next("disconnected")
        self.client.loop_stop()


for name, version in [("3.1.1", mqtt.MQTTv311), ("5", mqtt.MQTTv5)]:
    one = Client(name + " one", version)
    step(name, "connected", *one.session)
    step(name, "subscribed", one.subscribe([(name + "/+/#", 1)]) if version == mqtt.MQTTv311 else one.subscribe(name + "/+/#", 1))
    two = Client(name + " two", version, will=(name + "/will/two", "lost", 1))
    for qos in (0, 1):
        two.publish(name + "/a/b", "of QoS %d" % qos, qos)
        step(name, "message", *one.message())
    two.publish(name + "/long", "x" * 100_000, 1)
    step(name, "long", len(one.message()[1]))
    for n in range(1_000):
        two.client.publish(name + "/many", str(n), n % 2)
    got = [one.message()[1] for _ in range(1_000)]
    step(name, "many", sum(got[i] in got for i in range(1_000)), [n for n in got if int(n) % 2] == [str(n) for n in range(1, 1_000, 2)])
    two.client._sock_close()
    step(name, "will", *one.message())
    two.client.loop_stop()
    one.leave()

for name, version in [("3.1.1", mqtt.MQTTv311), ("5", mqtt.MQTTv5)]:
    lasting = Client("lasting " + name, version, clean=False, expiry=100)
    lasting.subscribe("kept/" + name, 1)
    lasting.leave()
    other = Client("other", version)
    other.publish("kept/" + name, "missed", 1)
    other.leave()
    lasting = Client("lasting " + name, version, clean=False, expiry=0)
    step(name, "session", lasting.session[1], *lasting.message())
    lasting.leave()

# What only MQTT 5 has.
first = Client("same")
first.subscribe("a", options=SubscribeOptions(qos=1, noLocal=True))
second = Client("same")
step("taken over", first.next("disconnected"))
first.client.loop_stop()
second.subscribe("properties")
properties = Properties(PacketTypes.PUBLISH)
properties.UserProperty = ("key", "value")
properties.ContentType = "text/plain"
properties.MessageExpiryInterval = 60
second.publish("properties", "x", properties=properties)
got = second.next("message").properties
step("properties", got.UserProperty, got.ContentType, 0 < got.MessageExpiryInterval <= 60)
second.leave()
step("done")
