import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** HDFS and YARN on loopback, until standard input ends, with the address of HDFS on standard output. Their clients' settings go to the folder "conf". */
public class MiniHadoop {
  public static void main(String[] arguments) throws Exception {
    File folder = new File(arguments[0]);
    File settings = new File(folder, "conf");
    settings.mkdirs();
    System.setProperty("test.build.data", new File(folder, "build").getPath());
    YarnConfiguration server = new YarnConfiguration();
    server.set("hadoop.tmp.dir", new File(folder, "tmp").getPath());
    MiniDFSCluster hdfs = new MiniDFSCluster.Builder(server, new File(folder, "hdfs")).numDataNodes(1).build();
    hdfs.waitActive();

    server.set("yarn.nodemanager.vmem-check-enabled", "false");
    server.set("yarn.nodemanager.disk-health-checker.enable", "false");
    server.set("yarn.nodemanager.resource.memory-mb", "6144");
    server.set("yarn.scheduler.minimum-allocation-mb", "256");
    server.set("yarn.scheduler.capacity.root.queues", "default");
    server.set("yarn.scheduler.capacity.root.default.capacity", "100");
    server.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0");
    MiniYARNCluster yarn = new MiniYARNCluster("mini", 1, 1, 1);
    yarn.init(server);
    yarn.start();

    Configuration ofHdfs = new Configuration(false);
    ofHdfs.set("fs.defaultFS", hdfs.getURI().toString());
    write(ofHdfs, new File(settings, "core-site.xml"));
    Configuration ofYarn = new Configuration(false);
    for (String name : new String[] {"address", "scheduler.address", "webapp.address"}) {
      ofYarn.set("yarn.resourcemanager." + name, yarn.getConfig().get("yarn.resourcemanager." + name));
    }
    write(ofYarn, new File(settings, "yarn-site.xml"));
    System.out.println("ready " + hdfs.getURI());
    while (System.in.read() >= 0) {}
    System.exit(0);
  }

  private static void write(Configuration configuration, File file) throws Exception {
    try (OutputStream out = new FileOutputStream(file)) {
      configuration.writeXml(out);
    }
  }
}
