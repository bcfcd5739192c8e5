// The dumbbell of dumbbell-40.toml in ns-3: NewReno (or SACK) flows over 10 Mbit/s, real access links, one queue.
//
//   dumbbell_ns3 --aqm=red|droptail|codel --sack=0|1 --flows=40 --end=200
//
// prints {"arrivals": packets offered to the bottleneck, "drops": those dropped there}. ns-3 counts them at its queue
// disc all the time; nothing else is recorded. `bench.py` compiles it where ns-3's headers are installed.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

int
main(int argc, char* argv[])
{
    std::string aqm = "droptail";
    bool sack = false;
    uint32_t flows = 40;
    double end = 200;
    CommandLine command;
    command.AddValue("aqm", "red, droptail or codel", aqm);
    command.AddValue("sack", "selective acknowledgements", sack);
    command.AddValue("flows", "number of flows", flows);
    command.AddValue("end", "seconds", end);
    command.Parse(argc, argv);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(500));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 22));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 22));

    Ptr<Node> left = CreateObject<Node>();
    Ptr<Node> right = CreateObject<Node>();
    Ptr<Node> server = CreateObject<Node>();
    NodeContainer clients;
    clients.Create(flows);
    InternetStackHelper stack;
    stack.Install(NodeContainer(NodeContainer(left, right, server), clients));

    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    link.SetChannelAttribute("Delay", StringValue("10ms"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
    // Hosts have no queue discs: a queue that is never full is enough.
    auto join = [&](Ptr<Node> a, Ptr<Node> b) {
        NetDeviceContainer devices = link.Install(a, b);
        Ipv4InterfaceContainer interfaces = address.Assign(devices);
        address.NewNetwork();
        TrafficControlHelper().Uninstall(devices);
        return interfaces;
    };
    for (uint32_t i = 0; i < flows; i++)
    {
        join(clients.Get(i), left);
    }
    Ipv4Address target = join(right, server).GetAddress(1);

    // At the bottleneck the queue disc holds the packets, the device one.
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    NetDeviceContainer middle = link.Install(left, right);
    TrafficControlHelper control;
    if (aqm == "red")
    {
        control.SetRootQueueDisc("ns3::RedQueueDisc",
                                 "MaxSize", StringValue("100p"),
                                 "MinTh", DoubleValue(15),
                                 "MaxTh", DoubleValue(45),
                                 "LInterm", DoubleValue(10),
                                 "QW", DoubleValue(0.002),
                                 "Gentle", BooleanValue(false),
                                 "MeanPktSize", UintegerValue(540),
                                 "LinkBandwidth", StringValue("10Mbps"),
                                 "LinkDelay", StringValue("10ms"));
    }
    else if (aqm == "codel")
    {
        control.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", StringValue("100p"));
    }
    else
    {
        control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("100p"));
    }
    QueueDiscContainer queues = control.Install(middle.Get(0));
    address.Assign(middle);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < flows; i++)
    {
        uint16_t port = 5000 + i;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(server);
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(target, port));
        source.SetAttribute("SendSize", UintegerValue(500));
        source.Install(clients.Get(i)).Start(Seconds(start->GetValue(0, 1)));
    }
    Simulator::Stop(Seconds(end));
    Simulator::Run();
    QueueDisc::Stats counts = queues.Get(0)->GetStats();
    std::cout << "{\"arrivals\": " << counts.nTotalReceivedPackets << ", \"drops\": " << counts.nTotalDroppedPackets
              << "}\n";
    Simulator::Destroy();
    return 0;
}
