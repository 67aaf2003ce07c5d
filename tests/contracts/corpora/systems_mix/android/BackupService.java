package com.example.packrat;

import java.io.File;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Queue;

/** Uploads photos in the background while the phone is charging. */
public class BackupService {
    private static final int MAX_RETRIES = 3;

    private final Transport transport;
    private final Queue<File> pending = new ArrayDeque<>();
    private boolean charging;

    public BackupService(Transport transport) {
        this.transport = transport;
    }

    /** Called by the system when the charger is connected or removed. */
    public void onPowerChanged(boolean connected) {
        charging = connected;
        if (charging) {
            drainQueue();
        }
    }

    public void enqueue(File file) {
        pending.add(file);
        if (charging) {
            drainQueue();
        }
    }

    private void drainQueue() {
        while (!pending.isEmpty()) {
            File file = pending.peek();
            if (!uploadWithRetries(file)) {
                return;
            }
            pending.remove();
        }
    }

    private boolean uploadWithRetries(File file) {
        for (int attempt = 0; attempt < MAX_RETRIES; attempt++) {
            try {
                transport.upload(file);
                return true;
            } catch (IOException error) {
                System.err.println("upload failed, attempt " + attempt + ": " + error.getMessage());
            }
        }
        return false;
    }

    /** Sends a file to the store. */
    public interface Transport {
        void upload(File file) throws IOException;
    }
}
