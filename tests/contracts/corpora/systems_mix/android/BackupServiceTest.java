package com.example.packrat;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class BackupServiceTest {
    @Test
    void nothingIsUploadedOnBattery() {
        List<File> uploaded = new ArrayList<>();
        BackupService service = new BackupService(uploaded::add);
        service.enqueue(new File("a.jpg"));
        assertEquals(0, uploaded.size());
        service.onPowerChanged(true);
        assertEquals(1, uploaded.size());
    }
}
